// Which command starts the server; knows nothing of VS Code, so that it can be tested without it.

import { join } from "node:path";

/** What is known where a server is to be started. */
export interface Place {
  /** The setting `dl-lint.command`; empty where nobody has set it. */
  configured: readonly string[];
  /** Folders of the workspace. */
  folders: readonly string[];
  /** Whether programs that lie in these folders may be run. */
  trusted: boolean;
  windows: boolean;
  exists: (path: string) => boolean;
}

/** The command, with its arguments: as configured, else that of a folder's virtual environment, else that on the PATH. */
export function serverCommand(place: Place): string[] {
  if (place.configured.length > 0) {
    return [...place.configured];
  }
  const program = place.windows ? join("Scripts", "dl-lint.exe") : join("bin", "dl-lint");
  const installed = place.trusted
    ? place.folders
        .flatMap((folder) => [".venv", "venv"].map((name) => join(folder, name, program)))
        .find(place.exists)
    : undefined;
  return [installed ?? "dl-lint", "server"];
}
