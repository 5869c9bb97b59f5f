import type { Arguments, Directive, Verb } from "../language.ts";
import type { Step, Turn } from "../turn.ts";
import * as ask from "./ask.ts";
import * as ending from "./ending.ts";
import * as news from "./news.ts";
import * as reach from "./reach.ts";
import * as speech from "./speech.ts";
import * as trouble from "./trouble.ts";

/** Who does what. A verb without a performer does not compile. */
const PERFORMERS: { readonly [V in Verb]: (turn: Turn, args: Arguments[V]) => Step } = {
  say: speech.say,
  think: speech.think,
  chunks: speech.chunks,
  message: speech.message,
  help: speech.help,
  recall: speech.recall,
  whoami: speech.whoami,
  env: speech.env,
  tool: news.tool,
  plan: news.plan,
  usage: news.usage,
  title: news.title,
  commands: news.commands,
  mode: news.mode,
  config: news.config,
  update: news.update,
  "unknown-update": news.unknownUpdate,
  ask: ask.ask,
  question: ask.question,
  read: reach.read,
  write: reach.write,
  run: reach.run,
  call: reach.call,
  notify: reach.notify,
  sleep: ending.sleep,
  hang: ending.hang,
  "ignore-cancel": ending.ignoreCancel,
  refuse: ending.refuse,
  stop: ending.stop,
  fail: ending.fail,
  twice: ending.twice,
  crash: trouble.crash,
  signal: trouble.signal,
  garbage: trouble.garbage,
  longline: trouble.longline,
  flood: trouble.flood,
  deep: trouble.deep,
  stray: trouble.stray,
  stderr: trouble.stderr,
  "fork-child": trouble.forkChild,
};

export function perform<V extends Verb>(turn: Turn, { verb, args }: Directive<V>): Step {
  return PERFORMERS[verb](turn, args);
}
