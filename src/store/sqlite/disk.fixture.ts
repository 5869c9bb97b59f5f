import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Why this process may not mount disks; null if it may. */
export async function whyNoDisks(): Promise<string | null> {
  try {
    await withDisk(1, async () => {});
    return null;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.split("\n").at(-2) : thrown;
    return `no disk can be mounted here: ${reason}`;
  }
}

/** A disk of so many megabytes, in memory, for as long as the work takes. */
export async function withDisk(
  megabytes: number,
  work: (disk: string) => Promise<void>,
): Promise<void> {
  const disk = await mkdtemp(join(tmpdir(), "fermata-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "fermata-test", disk]);
    try {
      await work(disk);
    } finally {
      await run("umount", ["-l", disk]);
    }
  } finally {
    await rm(disk, { recursive: true, force: true });
  }
}

export async function remount(disk: string, mode: "ro" | "rw"): Promise<void> {
  await run("mount", ["-o", `remount,${mode}`, disk]);
}
