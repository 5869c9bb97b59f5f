import { describe, expect, it } from "vitest";
import { resolveServer } from "./config.ts";

const ENV = { HOME: "/home/ada", API_TOKEN: "tok-12345678", EMPTY: "", SHORT: "abc" };

/** A reference, as it stands in a file. */
function ref(name: string): string {
  return `\${${name}}`;
}

function stdio(env: Record<string, string>) {
  return { name: "s", type: "stdio", command: "c", args: [ref("API_TOKEN")], env } as const;
}

function http(headers: Record<string, string>) {
  return { name: "s", type: "http", url: `http://x/${ref("API_TOKEN")}`, headers } as const;
}

describe("references to the environment", () => {
  it("are resolved in variables and headers, and nowhere else", () => {
    const { server } = resolveServer(stdio({ A: `x ${ref("API_TOKEN")} y ${ref("HOME")}` }), ENV);
    expect(server).toEqual(stdio({ A: "x tok-12345678 y /home/ada" }));
    expect(resolveServer(http({ A: `Bearer ${ref("API_TOKEN")}` }), ENV).server).toEqual(
      http({ A: "Bearer tok-12345678" }),
    );
  });

  it("may say what holds otherwise", () => {
    const texts = {
      A: ref("NONE:-this"),
      B: ref("EMPTY:-that"),
      C: ref("EMPTY"),
      D: ref("SHORT:-x"),
    };
    const { server, missing } = resolveServer(stdio(texts), ENV);
    expect(server).toEqual(stdio({ A: "this", B: "that", C: "", D: "abc" }));
    expect(missing).toEqual([]);
  });

  it("that lead nowhere are named", () => {
    const env = { A: `${ref("NONE")} ${ref("NONE")} ${ref("OTHER")}`, B: ref("toString") };
    expect(resolveServer(stdio(env), ENV).missing).toEqual(["NONE", "OTHER", "toString"]);
  });

  it("P11: give secrets, but for what everybody gets anyway and what is too short", () => {
    const env = { A: `Bearer ${ref("API_TOKEN")}`, B: `${ref("HOME")}/x`, C: ref("SHORT") };
    expect(resolveServer(stdio(env), ENV).secrets).toEqual(["tok-12345678"]);
  });

  it("P11: are not needed for a secret: its name is enough", () => {
    const headers = {
      Authorization: "Bearer abcdefgh",
      "X-Api-Key": "key-87654321",
      Plain: "plain text",
    };
    const { secrets } = resolveServer(http(headers), ENV);
    expect(secrets).toEqual(["Bearer abcdefgh", "abcdefgh", "key-87654321"]);
    expect(resolveServer(stdio({ GITHUB_TOKEN: "ghp_12345678" }), ENV).secrets).toEqual([
      "ghp_12345678",
    ]);
  });
});
