import { parseTenantId, type TenantId } from "../../core/id.ts";
import { isObject } from "../../core/json.ts";
import { fail, type Result } from "../../core/result.ts";
import type { SessionKey } from "../store.ts";

/** One call to a thread, and what came of it. */
export interface ThreadCall {
  readonly n: number;
  readonly op: string;
  readonly args: readonly unknown[];
}

export interface ThreadAnswer {
  readonly n: number;
  readonly value: unknown;
  /** How long a read has held up what waits behind it, where that matters. */
  readonly readMs?: number;
}

/** One operation of a thread, and its answer if the tenant is not there. */
export interface TenantOperation<Context, Args extends readonly unknown[], Value> {
  run(context: Context, ...args: Args): Value;
  /** Null if the operation makes the tenant, and so is run all the same. */
  absent(...args: Args): Value | null;
}

/** Each operation takes what the backend's operation of its name takes, after its context. */
export function operation<Context, Args extends readonly unknown[], Value>(
  run: (context: Context, ...args: Args) => Value,
  absent: (...args: Args) => Value | null,
): TenantOperation<Context, Args, Value> {
  return { run, absent };
}

export function noSession({ sessionId }: SessionKey): Result<never> {
  return fail("session_not_found", { sessionId });
}

type OperationTable<Context> = Readonly<Record<string, TenantOperation<Context, never[], unknown>>>;

/** In the thread: does what a call asks for. */
export function runCall<Context>(
  table: OperationTable<Context>,
  context: Context,
  call: ThreadCall,
) {
  return operationOf(table, call).run(context, ...argsOf(call));
}

/** In the thread: the answer to a call whose tenant is not there; null if the call makes it. */
export function absentCall<Context>(table: OperationTable<Context>, call: ThreadCall): unknown {
  return operationOf(table, call).absent(...argsOf(call));
}

function operationOf<Context>(table: OperationTable<Context>, { op }: ThreadCall) {
  const found = table[op];
  if (found === undefined) throw new Error(`there is no operation ${op}`);
  return found;
}

/** Calls come from our own backend, whose types are made from these very tables. */
function argsOf({ args }: ThreadCall): never[] {
  return args as never[];
}

/** What the first argument of a call names as its tenant. */
export function tenantNameOf({ args: [first] }: ThreadCall): unknown {
  return isObject(first) ? first.tenantId : first;
}

/** Null if there is no such tenant: the call is about the whole store. */
export function tenantOf(name: unknown): TenantId | null {
  return typeof name === "string" ? parseTenantId(name) : null;
}

/** The functions of a table of operations, as a thread offers them. */
export type Offered<Table> = {
  readonly [Op in keyof Table]: Table[Op] extends TenantOperation<never, infer Args, infer Value>
    ? (...args: Args) => Value
    : never;
};

/** The same functions, as they are called from outside the thread. */
type Remote<Ops> = {
  readonly [Op in keyof Ops]: Ops[Op] extends (...args: infer Args) => infer Value
    ? (...args: Args) => Promise<Value>
    : never;
};

/** A function for each operation of a table, which calls it in its thread. */
export function remote<Table extends object>(
  table: Table,
  call: (op: string, args: readonly unknown[]) => Promise<unknown>,
): Remote<Offered<Table>> {
  const calls = Object.keys(table).map((op) => [
    op,
    (...args: readonly unknown[]) => call(op, args),
  ]);
  // The other end of the port is our own code, which answers by the same table.
  return Object.fromEntries(calls) as Remote<Offered<Table>>;
}
