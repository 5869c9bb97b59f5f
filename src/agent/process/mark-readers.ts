/** A process's environment as far as it matters here. */
export interface ReadMark {
  /** The mark in it. */
  readonly marker: string | null;
  /** It showed an empty environment, as a process does for a moment during `exec`. */
  readonly isBlank: boolean;
  /** It could not be read just now, and may be read the next time. */
  readonly isHidden: boolean;
}

/**
 * Reads the marks of one user's processes. Root in a container, and a server with a few
 * capabilities, may end the processes of other users but not read their environment.
 */
export interface MarkReader {
  readonly uid: number;
  /** Those that it could read, by pid; null if it could not try. It never rejects. */
  read(pids: readonly number[]): Promise<ReadonlyMap<number, ReadMark> | null>;
}

/** The readers of this process; each stays until its owner removes it. */
const READERS = new Set<MarkReader>();

/** Returns how it is removed. */
export function addMarkReader(reader: MarkReader): () => void {
  READERS.add(reader);
  return () => void READERS.delete(reader);
}

const UNREAD: ReadMark = { marker: null, isBlank: false, isHidden: true };

/** Reads the marks of processes that the server itself cannot read, by the user of each. */
export async function readHiddenMarks(
  hidden: ReadonlyMap<number, number>,
): Promise<ReadonlyMap<number, ReadMark>> {
  const found = new Map<number, ReadMark>();
  for (const reader of READERS) {
    const theirs = [...hidden].flatMap(([pid, uid]) => (uid === reader.uid ? [pid] : []));
    if (theirs.length === 0) continue;
    const read = await reader.read(theirs);
    for (const pid of theirs) {
      const mark = read === null ? UNREAD : read.get(pid);
      if (mark !== undefined) found.set(pid, mark);
    }
  }
  return found;
}
