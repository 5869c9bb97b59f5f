/** The part of an error's row in core that its documentation must repeat. */
type DocumentedErrors = Readonly<Record<string, { readonly status: number }>>;

/** One sentence for each difference between the error codes and the rows of docs/errors.md. */
export function errorTableFaults(errors: DocumentedErrors, page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `([^`]+)` \|(.*)$/gm)].map(([, code = "", cells = ""]) => {
    return { code, cells: cells.split("|").map((cell) => cell.replaceAll("`", "").trim()) };
  });
  const documented = new Set(rows.map(({ code }) => code));
  const missing = Object.keys(errors).filter((code) => !documented.has(code));
  const rowFaults = rows.flatMap(({ code, cells }, index) => {
    const error = Object.hasOwn(errors, code) ? errors[code] : undefined;
    if (!error) return [`${code} has a row but is no error code`];
    if (rows.findIndex((row) => row.code === code) !== index) return [`${code} has two rows`];
    if (!cells.includes(`${error.status}`)) return [`${code} has a row without ${error.status}`];
    return [];
  });
  return [...missing.map((code) => `${code} has no row`), ...rowFaults];
}
