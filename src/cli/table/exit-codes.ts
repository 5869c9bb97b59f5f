/** The exit codes of commands that speak to a server (docs/cli.md, "In scripts and CI"). */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  notFound: 4,
  version: 5,
  unauthorized: 6,
  needsApproval: 7,
  budget: 8,
  timeout: 9,
  cancelled: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The same in words, for help and docs. */
export const EXIT_WORDS = {
  [EXIT.failed]: "it failed, or the turn did",
  [EXIT.unreachable]: "there is no server, or no way to it",
  [EXIT.notFound]: "no such session, ask or turn, or more than one fits",
  [EXIT.version]: "the server is of another version",
  [EXIT.unauthorized]: "the token is missing or wrong, or its role may not do this",
  [EXIT.needsApproval]: "a person has to approve something first",
  [EXIT.budget]: "credits or a budget are used up, or a price is unknown",
  [EXIT.timeout]: "the time was over first",
  [EXIT.cancelled]: "it was cancelled or interrupted",
};
