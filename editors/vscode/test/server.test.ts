// The command that is chosen, and a conversation with the real server over VS Code's own protocol library.
// The server is DL_LINT, or the dl-lint on the PATH.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  type CodeAction,
  CodeActionRequest,
  createProtocolConnection,
  DidOpenTextDocumentNotification,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type MarkupContent,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { type Place, serverCommand } from "../src/command";

const NOWHERE: Place = { configured: [], folders: ["/shop"], trusted: true, windows: false, exists: () => false };

test("the command on the PATH is the last resort", () => {
  assert.deepEqual(serverCommand(NOWHERE), ["dl-lint", "server"]);
});

test("a virtual environment of the folder comes before the PATH", () => {
  const installed = join("/shop", "venv", "bin", "dl-lint");
  assert.deepEqual(serverCommand({ ...NOWHERE, exists: (path) => path === installed }), [installed, "server"]);
});

test("on Windows programs lie elsewhere", () => {
  const found = serverCommand({ ...NOWHERE, windows: true, exists: () => true });
  assert.deepEqual(found, [join("/shop", ".venv", "Scripts", "dl-lint.exe"), "server"]);
});

test("no program of a folder that is not trusted is run", () => {
  assert.deepEqual(serverCommand({ ...NOWHERE, trusted: false, exists: () => true }), ["dl-lint", "server"]);
});

test("what is configured is taken as it is", () => {
  const configured = ["uvx", "--from", "dl-lint[server]", "dl-lint", "server"];
  assert.deepEqual(serverCommand({ ...NOWHERE, configured, exists: () => true }), configured);
});

const SOURCE = `import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.zeros(64, 8)), batch_size=8, num_workers=2, pin_memory=True)
for (batch,) in loader:
    batch = batch.pin_memory().to("cuda", non_blocking=True)
    batch.sum()
`;

test("the server finds, explains and mends a file that is open", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "dl-lint-"));
  const file = join(folder, "train.py");
  writeFileSync(file, SOURCE);
  const uri = pathToFileURL(file).toString();
  const server = spawn(process.env.DL_LINT ?? "dl-lint", ["server"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => server.on("exit", resolve));
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const published = new Promise<PublishDiagnosticsParams>((resolve) =>
    connection.onNotification(PublishDiagnosticsNotification.type, resolve),
  );
  connection.listen();
  try {
    const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      rootUri: pathToFileURL(folder).toString(),
      capabilities: {},
    });
    assert.ok(capabilities.codeActionProvider && capabilities.hoverProvider);
    await connection.sendNotification(InitializedNotification.type, {});
    await connection.sendNotification(DidOpenTextDocumentNotification.type, {
      textDocument: { uri, languageId: "python", version: 1, text: SOURCE },
    });
    const { diagnostics } = await published;
    const found = diagnostics.find((each) => each.code === "DL101");
    assert.ok(found, JSON.stringify(diagnostics));
    assert.equal(found.range.start.line, 5);

    const hover = await connection.sendRequest(HoverRequest.type, {
      textDocument: { uri },
      position: found.range.start,
    });
    assert.match((hover?.contents as MarkupContent).value, /DL101/);

    const actions = await connection.sendRequest(CodeActionRequest.type, {
      textDocument: { uri },
      range: found.range,
      context: { diagnostics: [found] },
    });
    const fixes = (actions as CodeAction[]).flatMap((action) => Object.values(action.edit?.changes ?? {}).flat());
    assert.ok(fixes.length > 0);
  } finally {
    await connection.sendRequest(ShutdownRequest.type);
    await connection.sendNotification(ExitNotification.type);
    rmSync(folder, { recursive: true });
  }
  assert.equal(await ended, 0);
});
