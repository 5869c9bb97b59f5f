import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isObject, type JsonObject } from "../../core/json.ts";
import { TASKS } from "./description.ts";
import { bodySchemaOf, operationIdOf } from "./document.ts";
import { reference } from "./reference.fixture.ts";

describe("the description of the routes", () => {
  it("has every route, under a name of its own", async () => {
    const { routes, document } = await reference();
    const described = Object.entries(document.paths).flatMap(([path, item]) => {
      const methods = Object.keys(item);
      return methods.map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
      );
    });
    const known = routes.map(({ method, path }) => `${method} ${path}`);
    expect(described.toSorted()).toEqual(known.toSorted());
    const names = routes.map(({ method, path }) => operationIdOf(method, path));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it("says in a sentence of its own what each route does, and for which task", async () => {
    const { routes } = await reference();
    const summaries = routes.map((route) => route.about().summary);
    expect(summaries.filter((summary) => !/^[A-Z][a-z]+s? .{10,120}\.$/.test(summary))).toEqual([]);
    expect(summaries.filter((summary, at) => summaries.indexOf(summary) !== at)).toEqual([]);
    const tasks = new Set(routes.map((route) => route.about().task));
    expect([...tasks].toSorted()).toEqual(Object.keys(TASKS).toSorted());
  });

  it("has the schema of what each route reads", async () => {
    const { routes } = await reference();
    const wrong = routes.filter((route) => {
      const { body, query } = route.about().example;
      const isUnread = body !== undefined && bodySchemaOf(route) === null;
      return isUnread || (query !== undefined && route.query === undefined);
    });
    expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it("explains only fields that there are", async () => {
    const { routes } = await reference();
    const unknown = routes.flatMap((route) => {
      const shapes = [route.query, bodySchemaOf(route)].flatMap((schema) => {
        return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
      });
      return Object.keys(route.about().says ?? {}).filter((name) => !shapes.includes(name));
    });
    expect(unknown).toEqual([]);
  });

  it("refers only to what it has", async () => {
    const { document } = await reference();
    const text = JSON.stringify(document);
    const named = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
    const components: JsonObject = { ...document.components };
    const missing = named.filter(([, kind = "", name = ""]) => {
      const group = isObject(components) ? components[kind] : undefined;
      return !isObject(group) || !(name in group);
    });
    expect(named.length).toBeGreaterThan(50);
    expect(missing.map(([reference]) => reference)).toEqual([]);
  });
});
