/** The part of an error's row in core that its documentation must repeat. */
interface DocumentedError {
  readonly status: number;
  readonly name: string;
  readonly retry: string;
}

type DocumentedErrors = Readonly<Record<string, DocumentedError>>;

/** One sentence for each difference between the error codes and the rows of docs/errors.md. */
export function errorTableFaults(errors: DocumentedErrors, page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `([^`{]+)` \|(.*)$/gm)].map(([, code = "", cells = ""]) => {
    return { code, cells: cells.split("|").map((cell) => cell.replaceAll("`", "").trim()) };
  });
  const codes = rows.map(({ code }) => code);
  const cellFaults = rows.flatMap(({ code, cells }) => {
    const error = Object.hasOwn(errors, code) ? errors[code] : undefined;
    if (!error) return [];
    const has = (cell: string) => cells.some((text) => text === cell);
    const { status, name, retry } = error;
    const missing = [`${status}`, name].filter((cell) => !has(cell));
    const advised = cells.some((text) => text.startsWith(`${retry}: `));
    return [...missing, ...(advised ? [] : [`${retry}:`])].map(
      (text) => `${code} has a row without ${text}`,
    );
  });
  return [...differences(Object.keys(errors), codes, "error code"), ...cellFaults];
}

/** The same for the codes of `turn_error`, whose rows begin with `turn_error{code}`. */
export function turnErrorTableFaults(codes: readonly string[], page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `turn_error\{([^}]*)\}` \|/gm)];
  const documented = rows.map(([, code = ""]) => code);
  return differences(codes, documented, "code of turn_error");
}

function differences(codes: readonly string[], documented: readonly string[], kind: string) {
  return [
    ...codes.filter((code) => !documented.includes(code)).map((code) => `${code} has no row`),
    ...documented.flatMap((code, index) => {
      if (!codes.includes(code)) return [`${code} has a row but is no ${kind}`];
      return documented.indexOf(code) === index ? [] : [`${code} has two rows`];
    }),
  ];
}
