// What an agent starts as the MCP server of a session: it says whose it is, and then passes bytes
// between its pipes and the server's socket. One file without imports of ours, because it runs
// from the run folder, as the agents' user; and small, because it starts with every session.

import { symlinkSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";

const { FERMATA_TOOLBOX: path = "", FERMATA_TOOLBOX_SECRET: secret = "" } = process.env;

const socket = connect(path);
let heard = "";
socket.on("data", greet);
socket.on("error", () => leave("the server cannot be reached"));
socket.on("close", () => leave(socket.listenerCount("data") > 0 ? "the session is over" : null));
process.stdout.on("error", () => process.exit(0));

/**
 * The server has the relay make a link with a name of its choice, whose owner shows which user of
 * the system this is, and wants the secret then.
 */
function greet(chunk: Buffer): void {
  heard += chunk.toString("latin1");
  const [challenge = "", welcome] = heard.split("\n");
  if (!heard.includes("\n")) return;
  if (welcome === "welcome" && heard.endsWith("\n")) {
    socket.off("data", greet);
    process.stdin.pipe(socket).pipe(process.stdout);
  } else if (welcome === "") {
    prove(challenge);
  }
}

function prove(challenge: string): void {
  if (!/^[0-9a-f]{64}$/.test(challenge)) leave("this is not the server");
  try {
    symlinkSync(challenge, join(dirname(path), "proofs", challenge));
  } catch (thrown) {
    leave(`the server's folder cannot be used: ${thrown}`);
  }
  socket.write(`${secret}\n`);
}

/** Null after a conversation that has ended. */
function leave(why: string | null): never {
  if (why !== null) process.stderr.write(`fermata: no tools of the server here: ${why}\n`);
  process.exit(why === null ? 0 : 1);
}
