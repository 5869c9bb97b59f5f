/**
 * Where the program of a thread or process is. Development runs the sources, the package its
 * compiled copy.
 */
export function threadScript(name: string, beside: string): URL {
  return new URL(`./${name}${beside.endsWith(".ts") ? ".ts" : ".js"}`, beside);
}
