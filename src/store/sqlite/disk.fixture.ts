import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
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
  const disk = await makeDisk(megabytes);
  try {
    await work(disk);
  } finally {
    await clearDisk(disk);
  }
}

export async function makeDisk(megabytes: number): Promise<string> {
  const disk = await mkdtemp(join(tmpdir(), "fermata-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "fermata-test", disk]);
    return disk;
  } catch (thrown) {
    await rm(disk, { recursive: true, force: true });
    throw thrown;
  }
}

export async function clearDisk(disk: string): Promise<void> {
  await run("umount", ["-l", disk]);
  await rm(disk, { recursive: true, force: true });
}

/** Takes what is left of a disk, and gives it back when it is told to. */
export async function fillDisk(disk: string): Promise<() => Promise<void>> {
  const ballast = join(disk, "ballast");
  const { bavail, bsize } = await statfs(disk);
  await writeFile(ballast, Buffer.alloc(bavail * bsize));
  return () => rm(ballast);
}

/** From now on nothing in a folder can be changed: not by its owner, and not by root either. */
export async function freeze(folder: string): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0) {
    await chmod(folder, 0o500);
    return () => chmod(folder, 0o700);
  }
  // No permission holds root back, so the folder becomes a disk that takes no writes.
  await run("mount", ["--bind", folder, folder]);
  await run("mount", ["-o", "remount,ro,bind", folder]);
  return async () => {
    await run("umount", ["-l", folder]);
  };
}

export async function remount(disk: string, mode: "ro" | "rw"): Promise<void> {
  await run("mount", ["-o", `remount,${mode}`, disk]);
}
