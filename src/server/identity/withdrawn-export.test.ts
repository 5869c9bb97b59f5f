import { expect, it } from "vitest";
import { EXPORT_CHUNK_CHARS } from "../../core/limits.ts";
import { altered, Door } from "../../session/altered-store.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import type { Person } from "./people.fixture.ts";
import { Team } from "./team.fixture.ts";

interface Scene {
  readonly team: Team;
  readonly path: string;
  readonly sessionId: string;
}

/** What befalls a reader in the middle of an export, as requests to the server. */
const WITHDRAWALS: readonly [string, (scene: Scene) => Promise<unknown>][] = [
  ["is removed", ({ team }) => team.own.call("DELETE", "/members/bob")],
  ["has the token revoked", ({ team }) => team.own.call("DELETE", `/tokens/${team.bob.tokenId}`)],
  ["has the session withdrawn", ({ team, path }) => team.share(team.ada, path)],
  ["has the session replaced by another user's of the same id", replaced],
];

async function replaced({ team, path, sessionId }: Scene) {
  await team.own.call("POST", "/sessions/delete", { body: { sessionIds: [sessionId] } });
  expect(await team.made(team.adm, { sessionId })).toMatchObject({ sessionId });
  await team.turn(team.adm, path, `say ${SECRET}`);
}

const SECRET = "what adm alone may know";

async function begun({ team, path }: Scene, { headers }: Person) {
  const url = `${team.people.world.url}${path}/export?format=json`;
  const { status, body } = await fetch(url, { headers });
  expect(status).toBe(200);
  return body ?? expect.fail("there is nothing to read");
}

/** The text that arrives of an export, and whether it came to its end. */
async function read(pieces: ReadableStream<Uint8Array>) {
  let text = "";
  try {
    for await (const piece of pieces.pipeThrough(new TextDecoderStream())) text += piece;
    return { text, isWhole: true };
  } catch {
    return { text, isWhole: false };
  }
}

it.each(WITHDRAWALS)("P8: an export breaks off if its reader %s", async (_, withdraw) => {
  const door = new Door();
  const wrap = (store: SessionStore): SessionStore => {
    const readTurns: SessionStore["readTurns"] = async (key, range) => {
      await door.pass();
      return store.readTurns(key, range);
    };
    return altered(store, { readTurns });
  };
  const team = await Team.open({ stage: { wrap } });
  const scene = { team, ...(await team.made(team.ada)) };
  await team.share(team.ada, scene.path, "bob");
  await team.turn(team.ada, scene.path, `say ${"x".repeat(2 * EXPORT_CHUNK_CHARS)}`);
  // Its messages have been written by then, and so its first pieces sent.
  const isHeld = door.shut();
  const [his, hers] = [await begun(scene, team.bob), await begun(scene, team.own)];
  await isHeld;
  await withdraw(scene);
  door.open();
  const { text, isWhole } = await read(his);
  expect([isWhole, text.includes(SECRET)]).toEqual([false, false]);
  // Who may still read it does, unless it is gone.
  expect((await read(hers)).isWhole).toBe(withdraw !== replaced);
});
