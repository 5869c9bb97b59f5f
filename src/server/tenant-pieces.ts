/**
 * The pieces of a file that is read from a tenant while it is sent. Nobody waits for slow readers
 * before a tenant is deleted, and another may have its name by the time that they come back: so a
 * file ends in the middle as soon as its tenant does, and nothing of the next one is in it (P8).
 */
export async function* tenantPieces<Piece>(
  pieces: AsyncIterable<Piece>,
  ending: AbortSignal,
): AsyncGenerator<Piece> {
  const mustBeThere = () => {
    if (ending.aborted) throw new Error("its tenant is being deleted, or was");
  };
  mustBeThere();
  for await (const piece of pieces) {
    mustBeThere();
    yield piece;
    mustBeThere();
  }
  mustBeThere();
}
