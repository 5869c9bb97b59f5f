import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

export type FoundCommand =
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "forbidden"; readonly path: string; readonly reason: string }
  | { readonly kind: "missing" };

/**
 * The file that a command means. We look it up ourselves, because the system would do it from the
 * agent's directory, where a PATH with a relative entry finds whatever a workspace has put there.
 */
export async function findCommand(
  command: string,
  path: string | undefined,
): Promise<FoundCommand> {
  const candidates = command.includes("/")
    ? [command]
    : (path ?? "").split(delimiter).map((folder) => join(folder, command));
  let forbidden: FoundCommand = { kind: "missing" };
  for (const candidate of candidates.filter(isAbsolute)) {
    const found = await look(candidate);
    if (found.kind === "found") return found;
    if (found.kind === "forbidden" && forbidden.kind === "missing") forbidden = found;
  }
  return forbidden;
}

async function look(path: string): Promise<FoundCommand> {
  try {
    if (!(await stat(path)).isFile()) return { kind: "forbidden", path, reason: "it is no file" };
  } catch (thrown) {
    const isHidden = thrown instanceof Error && "code" in thrown && thrown.code === "EACCES";
    if (!isHidden) return { kind: "missing" };
    return { kind: "forbidden", path, reason: "its folder may not be entered" };
  }
  try {
    await access(path, constants.X_OK);
    return { kind: "found", path };
  } catch {
    return { kind: "forbidden", path, reason: "it is not executable" };
  }
}
