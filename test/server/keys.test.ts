// Users of one tenant at a real server: each has their own key and home, and no key is stored.

import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashOf, KeyedServer } from "./keyed.fixture.ts";

const ADAS = "key-of-ada-4711+do/not?tell";
const BENS = "key-of-ben-0815+do/not?tell";
const SHARED = "key-of-all-of-acme-2222";

let keyed: KeyedServer;
beforeAll(async () => {
  keyed = await KeyedServer.start({
    "acme/ada/MODEL_KEY": ADAS,
    "acme/ben/MODEL_KEY": BENS,
    "acme/MODEL_KEY": SHARED,
  });
}, 60_000);
afterAll(() => keyed.end(), 60_000);

/** The files under a folder that have one of these texts in them. */
function filesWith(folder: string, texts: readonly string[]): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => {
    if (!entry.isFile()) return [];
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    return texts.some((text) => bytes.includes(text)) ? [entry.name] : [];
  });
}

describe("keys and homes of users", { timeout: 60_000 }, () => {
  it("P8, P11: two users have their own key and home, and share no process", async () => {
    const [ada, ben] = [await keyed.user("acme", "ada"), await keyed.user("acme", "ben")];
    const [adas, bens, again] = [await ada.agent(), await ben.agent(), await ada.agent()];
    expect(adas.key).toBe(hashOf(ADAS));
    expect(bens.key).toBe(hashOf(BENS));
    expect(adas.home).toBe(join(keyed.homes, "acme", "ada", "keyed"));
    expect(bens.home).toBe(join(keyed.homes, "acme", "ben", "keyed"));
    expect(statSync(adas.home).mode & 0o777).toBe(0o700);
    expect(adas.pid).not.toBe(bens.pid);
    expect(again.pid).toBe(adas.pid);
  });

  it("a user without a key has the tenant's, and still a home of their own", async () => {
    const [cy, di] = [await keyed.user("acme", "cy"), await keyed.user("acme", "di")];
    const [cys, dis] = [await cy.agent(), await di.agent()];
    expect(cys.key).toBe(hashOf(SHARED));
    expect(dis.key).toBe(hashOf(SHARED));
    expect(cys.home).not.toBe(dis.home);
    expect(cys.pid).not.toBe(dis.pid);
  });

  it("the agent of a session has the key of its maker, whoever prompts", async () => {
    const [ada, ben] = [await keyed.user("acme", "ada"), await keyed.user("acme", "ben")];
    const session = await ada.session();
    expect(JSON.parse(await ben.said(session, "describe")).key).toBe(hashOf(ADAS));
  });

  it("P8: a tenant without a key is refused, with where it was looked for", async () => {
    const eve = await keyed.user("other", "eve");
    const { status, body } = await eve.create();
    expect(status).toBe(502);
    expect(body).toMatchObject({ code: "agent_secret_missing" });
    expect(body.error).toContain('"MODEL_KEY"');
    expect(body.error).toContain("(other/eve/MODEL_KEY, other/MODEL_KEY, MODEL_KEY)");
    expect(body.error).not.toContain("acme");
    expect((await eve.ask("GET", "/sessions")).body.sessions ?? []).toEqual([]);
  });

  it("P11: a replaced key counts for the next process, and neither is stored", async () => {
    const fay = "first-key-of-fay-1111";
    const next = "next-key-of-fay-2222";
    keyed.put("acme/fay/MODEL_KEY", fay);
    const user = await keyed.user("acme", "fay");
    const before = await user.agent();
    expect(before.key).toBe(hashOf(fay));
    keyed.put("acme/fay/MODEL_KEY", next);
    const after = await user.agent();
    expect(after.key).toBe(hashOf(next));
    expect(after.pid).not.toBe(before.pid);
    const session = await user.session();
    await user.said(session, `keep ${fay} and ${next}`);
    expect(filesWith(keyed.server.data, [fay, next])).toEqual([]);
    rmSync(join(keyed.secrets, "acme/fay/MODEL_KEY"));
    expect((await user.agent()).key).toBe(hashOf(SHARED));
  });

  it("a key that vanishes fails the next start with its name, until it is back", async () => {
    keyed.put("other/zoe/MODEL_KEY", "key-of-zoe-5555");
    const zoe = await keyed.user("other", "zoe");
    const session = await zoe.session();
    rmSync(join(keyed.secrets, "other/zoe/MODEL_KEY"));
    expect(JSON.parse(await zoe.said(session, "describe")).key).toBe(hashOf("key-of-zoe-5555"));
    await keyed.server.kill("SIGTERM");
    await keyed.server.restart();
    const failed = await zoe.turn(session, "describe", "error");
    expect(JSON.stringify(failed)).toContain("other/zoe/MODEL_KEY");
    keyed.put("other/zoe/MODEL_KEY", "next-key-of-zoe-6666");
    expect(JSON.parse(await zoe.said(session, "describe")).key).toBe(
      hashOf("next-key-of-zoe-6666"),
    );
  });

  it.each([
    ["empty", "", /it is empty/],
    ["huge", "x".repeat(65_537), /more than 65536 bytes/],
    ["binary", "a\0bcdefgh", /NUL/],
  ])("a secret that is %s is refused with its file and what to do", async (name, value, why) => {
    keyed.put(`acme/${name}/MODEL_KEY`, value);
    const { status, body } = await (await keyed.user("acme", name)).create();
    expect(status).toBe(502);
    expect(body).toMatchObject({ code: "agent_secret_unusable" });
    expect(body.error).toMatch(why);
    expect(body.error).toContain(`acme/${name}/MODEL_KEY`);
  });

  it("P11: a link that leaves the folder is refused, one inside is followed", async () => {
    keyed.put("acme/gus/..data/MODEL_KEY", "key-of-gus-3333-33");
    symlinkSync("..data/MODEL_KEY", join(keyed.secrets, "acme/gus/MODEL_KEY"));
    keyed.put("acme/hal/other", "unused-8888");
    symlinkSync("/etc/hostname", join(keyed.secrets, "acme/hal/MODEL_KEY"));
    const [gus, hal] = [await keyed.user("acme", "gus"), await keyed.user("acme", "hal")];
    expect((await gus.agent()).key).toBe(hashOf("key-of-gus-3333-33"));
    const { body } = await hal.create();
    expect(body).toMatchObject({ code: "agent_secret_unusable" });
    expect(body.error).toMatch(/leads out of --secrets-dir/);
  });

  it("P11: a key that its agent says in two halves is not sent or stored", async () => {
    const ada = await keyed.user("acme", "ada");
    const session = await ada.session();
    const said = await ada.said(session, "tell");
    expect(said).toMatch(/^(?:<\[redacted\]=*>)+$/);
    const spellings = [ADAS, encodeURIComponent(ADAS), Buffer.from(ADAS).toString("base64")];
    const parts = spellings.flatMap(partsOf);
    const heard = await ada.heard(session, "turn_complete");
    await ada.heard(session, "secret_redacted");
    expect(parts.filter((part) => heard.includes(part))).toEqual([]);
    await keyed.server.kill("SIGTERM");
    expect(filesWith(keyed.server.data, parts)).toEqual([]);
    await keyed.server.restart();
  });
});

/** All parts of a text that have eight characters. */
function partsOf(text: string): readonly string[] {
  return Array.from({ length: text.length - 7 }, (_, at) => text.slice(at, at + 8));
}
