/** The checks that need processes which can be stopped; the crash runner has them. */
export const CRASH_CHECKS: Readonly<Record<number, string>> = {
  42: "stopped at any step of a write, a session is wholly the old or wholly the new one",
  44: "what was acknowledged is there after a hard stop",
  45: "what was not acknowledged is never seen in part",
  48: "the flush happens before the acknowledgement",
  53: "a second writer in another process is refused, and told who the first one is",
  54: "a session whose process died can be opened by another",
  55: "a session whose process lives cannot, however often it is tried",
  88: "killed at random instants, many times over, a session is always one of those it may be",
};
