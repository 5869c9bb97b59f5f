/** What a caller may do: nothing, the same later, or look again and then decide. */
type Retry = "never" | "later" | "reread";

/** One refusal: HTTP status, advice, the `Class/Code` name of the specifications, the sentence. */
export interface ErrorRow {
  readonly status: number;
  readonly retry: Retry;
  readonly name: `${string}/${string}`;
  readonly says: string;
}

export function row(status: number, retry: Retry, name: ErrorRow["name"], says: string): ErrorRow {
  return { status, retry, name, says };
}
