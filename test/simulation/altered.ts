import type { SessionWorld } from "../../src/session/world.ts";
import type { Commit, SessionStore } from "../../src/store/index.ts";
import type { Scene } from "./scene.ts";

/** The same thing with some of its methods in another way. */
export function altered<Thing extends object>(thing: Thing, change: Partial<Thing>): Thing {
  const get = (target: Thing, name: string | symbol) => {
    if (Object.hasOwn(change, name)) return Reflect.get(change, name);
    const value: unknown = Reflect.get(target, name);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return new Proxy(thing, { get });
}

/** A world whose store does some things in another way. */
export function withStore(change: (store: SessionStore, scene: Scene) => Partial<SessionStore>) {
  return (world: SessionWorld, scene: Scene): SessionWorld => {
    return { ...world, store: altered(world.store, change(world.store, scene)) };
  };
}

export function reworded(commit: Commit, what: RegExp, by: string): Commit {
  return { ...commit, events: commit.events.map((text) => text.replace(what, by)) };
}
