import { parentPort, workerData } from "node:worker_threads";
import { sentenceOf } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { EXTENSION_NOTES_MAX, EXTENSION_SAID_CHARS_MAX } from "../../core/limits.ts";
import type { Extension, ExtensionHost } from "../contract.ts";
import { type PlainData, plainText } from "../plain-data.ts";
import { checkSlotAccess, slotText } from "../slot.ts";
import {
  ANSWER_BYTES_MAX,
  type ExtensionAnswer,
  type ExtensionCall,
  type PhaseCall,
  type ThreadNote,
  type ThreadStart,
} from "./messages.ts";

// The other end of the port is our own code. What the extension could use to talk past the limits
// of that port is taken away before its code is loaded.
const start = { ...(workerData as ThreadStart) };
Reflect.deleteProperty(workerData, "port");
parentPort?.close();

const config: ExtensionHost["config"] = JSON.parse(start.config);
let slot = start.slot;
let hasSlotChanged = false;
let notes: ThreadNote[] = [];
let extension: Extension = {};

function note(kind: ThreadNote["kind"], text: string) {
  if (notes.length >= EXTENSION_NOTES_MAX) return;
  notes.push({ kind, text: text.slice(0, EXTENSION_SAID_CHARS_MAX) });
}

/** Throws for any slot but its own, and has that told. */
function checkOwner(owner: string) {
  const access = checkSlotAccess(start.id, owner);
  if (access.ok) return;
  note("denied", owner);
  throw new Error(sentenceOf(access.refusal));
}

const host: ExtensionHost = {
  id: start.id,
  config,
  session: start.session,
  slots: {
    get(owner = start.id) {
      checkOwner(owner);
      return slot === null ? null : JSON.parse(slot);
    },
    set(value, owner = start.id) {
      checkOwner(owner);
      const text = value === null ? null : textToKeep(value);
      hasSlotChanged ||= text !== slot;
      slot = text;
    },
  },
  log: (message) => note("log", String(message)),
};

function textToKeep(value: PlainData): string {
  const text = slotText(start, value);
  if (!text.ok) throw new Error(sentenceOf(text.refusal));
  return text.value;
}

/** Loads the module, and has it make the extension of this session. */
async function make(): Promise<void> {
  const loaded: unknown = await import(start.module);
  const makes: unknown = Reflect.get(Object(loaded), "default");
  if (typeof makes !== "function") throw new Error("it has no default export that is a function");
  const made: unknown = await makes(host);
  if (!isObject(made)) throw new Error("its default export answers no extension");
  extension = made;
  compareHooks();
}

/** A guard that has no function for what it is asked must not be thought to let it pass. */
function compareHooks() {
  const named: ReadonlySet<string> = new Set(start.hooks);
  const has = (hook: string) => typeof Reflect.get(Object(extension.hooks), hook) === "function";
  const missing = start.hooks.find((hook) => !has(hook));
  if (missing !== undefined) {
    throw new Error(`its manifest has the hook ${missing}, and its module has no such function`);
  }
  for (const hook of Object.keys(extension.hooks ?? {})) {
    if (!named.has(hook)) note("log", `its hook ${hook} is never asked: its manifest has it not`);
  }
}

async function done({ work, hook = "", about }: ExtensionCall): Promise<unknown> {
  if (work === "make") return make();
  if (work === "hook") {
    const asked: unknown = Reflect.get(Object(extension.hooks), hook);
    if (typeof asked !== "function") throw new Error(`it has no function ${hook} any more`);
    return asked.call(extension.hooks, JSON.parse(about));
  }
  if (work === "plan") return withoutFunctions(extension);
  if (work === "phase") return phaseOf(hook, JSON.parse(about));
  const asked: unknown = extension[work];
  if (typeof asked === "function") return asked.call(extension, JSON.parse(about));
  if (work === "migrate") throw new Error("it has no function migrate");
  return null;
}

/** The stages of a workflow as data. */
function withoutFunctions(made: object) {
  const stages: unknown = Reflect.get(made, "stages");
  return { ...dataOf(made), ...(Array.isArray(stages) && { stages: stages.map(dataOf) }) };
}

function dataOf(made: unknown) {
  return Object.fromEntries(
    Object.entries(Object(made)).filter(([, value]) => typeof value !== "function"),
  );
}

async function phaseOf(phase: string, { stageId, told }: PhaseCall) {
  const stages: readonly object[] = Object(extension).stages;
  const isMeant = (stage: object) => Reflect.get(stage, "id") === stageId;
  const owner = stageId === null ? extension : Object(stages.find(isMeant));
  const asked: unknown = Reflect.get(owner, phase);
  if (typeof asked !== "function") return { isLeftOut: true, said: null };
  return { isLeftOut: false, said: (await asked.apply(owner, told)) ?? null };
}

async function answerTo(call: ExtensionCall): Promise<ExtensionAnswer> {
  if (call.slot !== undefined) {
    slot = call.slot;
    hasSlotChanged = false;
  }
  const { isDone, text } = await outcome(call);
  const answer = { n: call.n, isDone, text, notes, ...(hasSlotChanged && { slot }) };
  hasSlotChanged = false;
  notes = [];
  return answer;
}

async function outcome(call: ExtensionCall): Promise<Pick<ExtensionAnswer, "isDone" | "text">> {
  try {
    const { text, fault } = plainText((await done(call)) ?? null, ANSWER_BYTES_MAX);
    if (fault === undefined) return { isDone: true, text };
    return failed(`what it answers is not valid: ${fault.path} ${fault.reason}`);
  } catch (thrown) {
    return failed(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function failed(message: string) {
  return { isDone: false, text: message.slice(0, EXTENSION_SAID_CHARS_MAX) };
}

start.port.on("message", (call: ExtensionCall) => {
  void answerTo(call).then((answer) => start.port.postMessage(answer));
});
