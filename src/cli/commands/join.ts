import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join as joinPath } from "node:path";
import { isObject, type JsonObject, stringAt } from "../../core/json.ts";
import { JOIN_ANSWER_MS_MAX } from "../../core/limits.ts";
import { IN_THE_CLEAR, isInTheClear } from "../connect/find-server.ts";
import { homeOf, messageOf } from "../home.ts";
import { parseRow } from "../parse-row.ts";
import { JOIN } from "../table/people.ts";

interface JoinRequest {
  readonly code: string;
  readonly url: URL;
  readonly file: string;
}

/** Redeems an invitation, and saves the token that it gives. */
export async function join(args: readonly string[]): Promise<number> {
  const request = readJoin(args, process.env);
  if (typeof request === "string") {
    console.error(`fermata: join: ${request}; see "fermata join --help".`);
    return 2;
  }
  const code = request.code === "-" ? (await inputText()).trim() : request.code;
  return redeem({ ...request, code });
}

/** A text is the reason why the command line is wrong. */
function readJoin(args: readonly string[], env: NodeJS.ProcessEnv): JoinRequest | string {
  try {
    const { values, positionals } = parseRow(JOIN, args);
    const [code, extra] = positionals;
    if (code === undefined || extra !== undefined) return "expected one code";
    const address = values.url ?? env.FERMATA_URL ?? "http://127.0.0.1:4170";
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) return `"${address}" is not an address`;
    if (isInTheClear(url.origin) && !values.insecure) return IN_THE_CLEAR;
    const name = url.host.replaceAll(/[^\w.-]/g, "_");
    return { code, url, file: values.save ?? joinPath(homeOf(env), "tokens", name) };
  } catch (thrown) {
    return messageOf(thrown);
  }
}

async function inputText(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  return text;
}

/** Makes the file first: a code must not be used up for a token that cannot be saved. */
async function redeem({ code, url, file }: JoinRequest): Promise<number> {
  const handle = await makeFile(file);
  if (typeof handle === "string") return failed(`the token cannot be saved in ${file}: ${handle}`);
  const answer = await ask(url, code);
  const token = typeof answer === "string" ? null : stringAt(answer, "token");
  if (typeof answer === "string" || token === null) {
    await handle.close();
    await rm(file, { force: true });
    return failed(typeof answer === "string" ? answer : "the answer has no token");
  }
  const { user, role, tenant } = answer;
  console.log(`You are ${user} (${role}) of ${tenant}.`);
  try {
    await handle.writeFile(`${token}\n`);
    await handle.sync();
  } catch (thrown) {
    // The code is used up, so this is the only way left to the token.
    process.stdout.write(`${token}\n`);
    return failed(`the token could not be saved: ${messageOf(thrown)}; it is printed above`);
  } finally {
    await handle.close();
  }
  console.log(`Your token is in ${file}, which only you can read. To use it:`);
  console.log(`  export FERMATA_URL=${url.origin} FERMATA_TOKEN="$(cat '${file}')"`);
  return 0;
}

/** The open file, or why there is none. */
async function makeFile(file: string) {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    return await open(file, "wx", 0o600);
  } catch (thrown) {
    const isThere = thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST";
    return isThere ? "it exists; choose another with --save" : messageOf(thrown);
  }
}

/** The answer, or why there is none. */
async function ask(url: URL, code: string): Promise<JsonObject | string> {
  try {
    const response = await fetch(new URL("/invitations/redemption", url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
      redirect: "error",
      signal: AbortSignal.timeout(JOIN_ANSWER_MS_MAX),
    });
    const body: unknown = await response.json().catch(() => null);
    if (!isObject(body)) return `the server answered ${response.status}`;
    if (response.ok) return body;
    return stringAt(body, "error") ?? `the server answered ${response.status}`;
  } catch (thrown) {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    return `there is no answer from ${url.origin}: ${messageOf(cause)}`;
  }
}

function failed(reason: string): number {
  console.error(`fermata: ${reason}`);
  return 1;
}
