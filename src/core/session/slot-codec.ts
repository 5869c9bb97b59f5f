import { isObject, type JsonObject } from "../json.ts";
import { RPC_NESTING_MAX } from "../limits.ts";
import { isCount } from "../price.ts";

/** What reading comes to where a value is not what it should be; no value is ever this. */
export const DAMAGED = Symbol("damaged");

/** How one kind of value stands in a slot: as JSON, and back if it still is such a value. */
export interface Codec<Value> {
  readonly write: (value: Value) => unknown;
  readonly read: (json: unknown) => Value | typeof DAMAGED;
}

/**
 * What each field is, complete by type: a new field does not compile until it is named here. An
 * optional field is one whose codec takes `undefined`, which JSON leaves out.
 */
export type Fields<Shape> = {
  readonly [Name in keyof Required<Shape>]: Codec<Shape[Name]>;
};

/** What is the same in JSON, as long as it passes for what it should be. */
function plain<Value>(is: (json: unknown) => json is Value): Codec<Value> {
  return { write: (value) => value, read: (json) => (is(json) ? json : DAMAGED) };
}

const isNumber = (json: unknown): json is number => typeof json === "number";

export const text = plain((json): json is string => typeof json === "string");
/** A mark that is there or is not. */
export const yes = plain((json): json is true => json === true);
export const flag = plain((json): json is boolean => typeof json === "boolean");

/** Any number that JSON has; the others are whole, because they are counted with. */
export const number = plain(isNumber);
export const whole = plain((json): json is number => Number.isSafeInteger(json));
export const count = plain((json): json is number => isNumber(json) && isCount(json));

/** Of something that is forgotten at zero. */
export const atLeastOne = plain((json): json is number => isNumber(json) && isCount(json - 1));

export function oneOf<const Word extends string>(...words: readonly Word[]): Codec<Word> {
  return plain((json): json is Word => words.some((word) => word === json));
}

export function id<Id extends string>(parse: (text: string) => Id | null): Codec<Id> {
  return {
    write: (value) => value,
    read: (json) => (typeof json === "string" ? (parse(json) ?? DAMAGED) : DAMAGED),
  };
}

/**
 * What agents and clients say in their own words. It passes as it is: nothing in it is looked for
 * or turned into anything else, whichever its keys are.
 */
export function foreign<Value extends JsonObject>(
  is: (object: JsonObject) => object is Value,
): Codec<Value> {
  return plain((json): json is Value => isObject(json) && isShallow(json) && is(json));
}

/** What is nested deeper cannot have come over a wire, and could not be written again. */
function isShallow(json: unknown, levels = RPC_NESTING_MAX): boolean {
  if (typeof json !== "object" || json === null) return true;
  return levels > 0 && Object.values(json).every((inner) => isShallow(inner, levels - 1));
}

export function orNull<Value>({ write, read }: Codec<Value>): Codec<Value | null> {
  return {
    write: (value) => (value === null ? null : write(value)),
    read: (json) => (json === null ? null : read(json)),
  };
}

/** For a field that need not be there. */
export function optional<Value>({ write, read }: Codec<Value>): Codec<Value | undefined> {
  return {
    write: (value) => (value === undefined ? undefined : write(value)),
    read: (json) => (json === undefined ? undefined : read(json)),
  };
}

/** Two shapes that cannot be taken for each other, because each has exactly its own fields. */
export function either<One, Other>(
  isOne: (value: One | Other) => value is One,
  one: Codec<One>,
  other: Codec<Exclude<Other, One>>,
): Codec<One | Exclude<Other, One>> {
  return {
    write: (value) => (isOne(value) ? one.write(value) : other.write(value)),
    read: (json) => {
      const value = one.read(json);
      return value === DAMAGED ? other.read(json) : value;
    },
  };
}

export function list<Item>(item: Codec<Item>): Codec<readonly Item[]> {
  return {
    write: (items) => items.map((value) => item.write(value)),
    read: (json) => {
      if (!Array.isArray(json)) return DAMAGED;
      const items: Item[] = [];
      for (const inner of json) {
        const value = item.read(inner);
        if (value === DAMAGED) return DAMAGED;
        items.push(value);
      }
      return items;
    },
  };
}

export function set<Item>(item: Codec<Item>): Codec<ReadonlySet<Item>> {
  const { write, read } = list(item);
  return {
    write: (items) => write([...items]),
    read: (json) => {
      const items = read(json);
      if (items === DAMAGED) return DAMAGED;
      const distinct = new Set(items);
      return distinct.size === items.length ? distinct : DAMAGED;
    },
  };
}

/** A list of pairs, because a key of an object would lose its order, or be `__proto__`. */
export function map<Key, Value>(
  key: Codec<Key>,
  value: Codec<Value>,
): Codec<ReadonlyMap<Key, Value>> {
  return mapOf(pair(key, value));
}

/** A map whose values know their own keys, so that no two of them can disagree. */
export function mapBy<Key, Value>(
  value: Codec<Value>,
  keyOf: (value: Value) => Key,
): Codec<ReadonlyMap<Key, Value>> {
  const entry: Codec<readonly [Key, Value]> = {
    write: ([, inner]) => value.write(inner),
    read: (json) => {
      const inner = value.read(json);
      return inner === DAMAGED ? DAMAGED : [keyOf(inner), inner];
    },
  };
  return mapOf(entry);
}

function mapOf<Key, Value>(entry: Codec<readonly [Key, Value]>): Codec<ReadonlyMap<Key, Value>> {
  const { write, read } = list(entry);
  return {
    write: (values) => write([...values]),
    read: (json) => {
      const found = read(json);
      if (found === DAMAGED) return DAMAGED;
      const values = new Map(found);
      return values.size === found.length ? values : DAMAGED;
    },
  };
}

function pair<Key, Value>(key: Codec<Key>, value: Codec<Value>): Codec<readonly [Key, Value]> {
  return {
    write: (entry) => [key.write(entry[0]), value.write(entry[1])],
    read: (json) => {
      if (!Array.isArray(json) || json.length !== 2) return DAMAGED;
      const first = key.read(json[0]);
      const second = value.read(json[1]);
      return first === DAMAGED || second === DAMAGED ? DAMAGED : [first, second];
    },
  };
}

/** Writes null for what a session at rest has, which is what most of them are. */
export function nullAtRest<Value>({ write, read }: Codec<Value>, rest: Value): Codec<Value> {
  const resting = JSON.stringify(write(rest));
  return {
    write: (value) => {
      if (value === rest) return null;
      const json = write(value);
      return JSON.stringify(json) === resting ? null : json;
    },
    read: (json) => (json === null ? rest : read(json)),
  };
}

/** Exactly these fields. One more is as wrong as one less: the version says what is there. */
export function object<Shape extends object>(fields: Fields<Shape>): Codec<Shape> {
  const names = namesOf(fields);
  return {
    write: (value) => {
      return Object.fromEntries(names.map((name) => [name, fields[name].write(value[name])]));
    },
    read: (json) => {
      if (!isObject(json)) return DAMAGED;
      if (!Object.keys(json).every((name) => Object.hasOwn(fields, name))) return DAMAGED;
      const made: Partial<Shape> = {};
      for (const name of names) {
        const value = fields[name].read(Object.hasOwn(json, name) ? json[name] : undefined);
        if (value === DAMAGED) return DAMAGED;
        if (value !== undefined) made[name] = value;
      }
      // Every field has been read by its own codec, and only an optional one can be missing.
      return made as Shape;
    },
  };
}

function namesOf<Shape>(fields: Fields<Shape>): readonly (keyof Shape & string)[] {
  const isName = (name: string): name is keyof Shape & string => Object.hasOwn(fields, name);
  return Object.keys(fields).filter(isName);
}
