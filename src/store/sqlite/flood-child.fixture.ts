import { PAGE_BYTES_MAX } from "../../core/limits.ts";
import { commitOf, HOST, keyOf, manifest, newSession } from "../sample.fixture.ts";
import { sqliteStore } from "./store.ts";

/**
 * A process with little memory, in which hundreds of pages are asked for at once. It is told where
 * its store is, and says which answers came and whether another page can be read after that.
 */
const PAGES = 200;
const EVENTS_IN_PAGE = 8;
const EVENT_CHARS = PAGE_BYTES_MAX / EVENTS_IN_PAGE / 2;

const [path] = process.argv.slice(2);
const key = keyOf("s1");
const store = sqliteStore();
await store.init(HOST, { active: true, path });
await store.activate();

const events = Array.from({ length: EVENTS_IN_PAGE }, (_, n) =>
  JSON.stringify({ n, text: "x".repeat(EVENT_CHARS) }),
);
const created = newSession("s1", { manifest: manifest({ storeId: "sqlite" }) });
await store.create(key, { ...created, commit: commitOf({ events }) });

const read = async () => {
  const page = await store.readEvents(key, { after: 0, limit: EVENTS_IN_PAGE });
  return page.ok ? "page" : `${page.refusal.code}: ${JSON.stringify(page.refusal.details)}`;
};
const answers = new Set(await Promise.all(Array.from({ length: PAGES }, read)));
const after = await read();
process.stdout.write(JSON.stringify({ answers: [...answers], after }));
await store.dispose();
