// The extension: starts `dl-lint server` and hands it the Python files of the window.

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { serverCommand } from "./command";

const INSTALL = 'pip install "dl-lint[server]"';

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("dl-lint.restart", start),
    vscode.workspace.onDidGrantWorkspaceTrust(start),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("dl-lint")) {
        void start();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
}

async function start(): Promise<void> {
  await client?.dispose();
  const [program = "dl-lint", ...args] = serverCommand({
    configured: vscode.workspace.getConfiguration("dl-lint").get<string[]>("command", []),
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    trusted: vscode.workspace.isTrusted,
    windows: process.platform === "win32",
    exists: existsSync,
  });
  client = new LanguageClient(
    "dl-lint",
    { command: program, args },
    {
      documentSelector: [{ language: "python", scheme: "file" }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/pyproject.toml") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const chosen = await vscode.window.showErrorMessage(
      `"${[program, ...args].join(" ")}" did not start: ${error instanceof Error ? error.message : String(error)}. ` +
        `Install it with ${INSTALL}, or set dl-lint.command.`,
      "Copy the command",
      "Open the setting",
    );
    if (chosen === "Copy the command") {
      await vscode.env.clipboard.writeText(INSTALL);
    } else if (chosen === "Open the setting") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "dl-lint.command");
    }
  }
}
