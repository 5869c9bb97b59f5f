import { type CommandRow, DATA_OPTIONS, TENANT_OPTIONS, toggle } from "./row.ts";

// Commands that care for a data directory.

export const BACKUP = {
  name: "backup",
  group: "Care of the data",
  line: "Copy a data directory, also while the server runs.",
  usage: ["DIR [--data DIR]"],
  about: `Copies all tenants with their sessions, journals, tokens and attachments into a new
directory, beside a running server or without one. Each tenant is copied as it is at
one moment. Only its owner may read the copy; it is as confidential as the data. A
tenant that cannot be read is left out and named, and the exit code is then 1.

The copy does not have config.json, agents.json, mcp.json and price tables.
`,
  options: { ...DATA_OPTIONS },
  exitCodes: { 1: "a tenant could not be read, or there is no backup" },
  completes: ["folder"],
} as const satisfies CommandRow;

export const RESTORE = {
  name: "restore",
  group: "Care of the data",
  line: "Restore a backup into an empty data directory.",
  usage: ["DIR [--data DIR]"],
  about: `Restores a backup of "fermata backup" into a data directory that has no sessions yet,
completely or not at all. First stop the server that uses the directory, and move old
sessions away.

Turns that ran at the time of the backup end as after a crash when the server starts,
and waiting prompts run. Clients have to load their sessions again, and agents get the
conversation again, because both may know of later events.
`,
  options: { ...DATA_OPTIONS },
  completes: ["folder"],
} as const satisfies CommandRow;

export const SEIZE = {
  name: "seize",
  group: "Care of the data",
  line: "Free a session whose server is gone for good.",
  usage: ["ID [--data DIR] [--tenant NAME]"],
  about: `Frees a session whose server is gone for good, where Fermata cannot know that, as
after a move to another machine or a new host name. The audit records it.

Be sure that the server is gone. One that still runs loses the session: the store
refuses its later writes. A server that runs on this machine keeps its sessions.
`,
  options: { ...TENANT_OPTIONS },
} as const satisfies CommandRow;

export const REPAIR = {
  name: "repair",
  group: "Care of the data",
  line: "Cut the unreadable end off a session's log.",
  usage: ["ID [--data DIR] [--tenant NAME]"],
  about: `Cuts the log of a session before its first unreadable event, so that the session can
be opened again. The events after it are lost. A log that can be read to its end
stays as it is. The audit records the cut.
`,
  options: { ...TENANT_OPTIONS },
} as const satisfies CommandRow;

export const MISSING = {
  name: "missing",
  group: "Care of the data",
  line: "List sessions that were stored and are not there any more.",
  usage: ["[--forget] [--data DIR]"],
  about: `Lists the sessions that were stored once and that the store does not have any more, as
after a lost or damaged database: one line each, with the tenant and the id. It works
beside a running server. A tenant whose whole database is gone has a line of its own,
with - for the id.

To get them back, restore a backup. With --forget their notes are deleted, so that the
server's health does not speak of them any more.
`,
  options: { forget: toggle("Delete the notes of these sessions."), ...DATA_OPTIONS },
  exitCodes: { 1: "there are any" },
} as const satisfies CommandRow;

export const REINDEX = {
  name: "reindex",
  group: "Care of the data",
  line: "Make the index of the search anew.",
  usage: ["[--data DIR]"],
  about: `Makes the index anew by which messages and titles are found, for all tenants, and says how
many texts it has. It works beside a running server, in small steps between which the
server goes on; until it is done a search may miss what is old. The server indexes by itself
what is said and what an earlier version has left: this is for an index that is damaged,
and to clear the words of deleted sessions from it at once.
`,
  options: { ...DATA_OPTIONS },
  exitCodes: { 1: "the index of a tenant could not be made" },
} as const satisfies CommandRow;

export const VACUUM = {
  name: "vacuum",
  group: "Care of the data",
  line: "Give the disk back what deleted sessions have left.",
  usage: ["[--data DIR]"],
  about: `Gives the disk back what deleted sessions have left in the databases of all tenants,
and says how much that is. The server does so by itself after each deletion, except in
databases that an earlier version has made. Those are written anew, once: stop the
server for that, and have as much free space as the largest database takes.
`,
  options: { ...DATA_OPTIONS },
} as const satisfies CommandRow;
