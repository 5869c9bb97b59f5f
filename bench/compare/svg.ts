import { escaped } from "../../src/session/export/html-text.ts";

/** One element of SVG or HTML; its content is markup. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...content: readonly string[]
): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escaped(`${value}`)}"`,
  );
  return `<${name}${written.join("")}>${content.join("")}</${name}>`;
}
