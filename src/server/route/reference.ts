import { createHash } from "node:crypto";
import { type Answer, notModified, type WholeText } from "../http/answer.ts";
import { type Route, type RouteTable, route, type ServerRequest } from "../http/route.ts";
import { ABOUT_SERVER } from "./about/server.ts";

interface ReferenceSource {
  readonly version: string;
  /** A function, because the table contains this route too. */
  table(): Pick<RouteTable, "routes">;
}

/** The description of all routes. Ours. */
export function referenceRoutes(source: ReferenceSource): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/openapi.json",
      about: ABOUT_SERVER.openapi,
      needs: null,
      handle: answering(async () => {
        return { kind: "json", status: 200, text: JSON.stringify(await documentOf(source)) };
      }),
    }),
    route({
      method: "GET",
      path: "/docs",
      about: ABOUT_SERVER.reference,
      needs: null,
      handle: answering(async () => {
        const { referencePage } = await import("../page/reference-page.ts");
        return referencePage(await documentOf(source));
      }),
    }),
  ];
}

async function documentOf({ table, version }: ReferenceSource) {
  const { openApiDocument } = await import("../openapi/document.ts");
  return openApiDocument(table().routes, version);
}

/**
 * Makes the answer when it is first wanted, because it costs more than a start may, and keeps it:
 * it is the same for all callers for as long as the server runs.
 */
function answering(make: () => Promise<WholeText>) {
  let made: Promise<KeptAnswer> | null = null;
  return async (request: ServerRequest<unknown>): Promise<Answer> => {
    made ??= make().then(kept);
    const { etag, answer } = await made;
    const headers = { ETag: etag, "Cache-Control": "no-cache" };
    if (request.header("if-none-match") === etag) return notModified(headers);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  };
}

interface KeptAnswer {
  readonly etag: string;
  readonly answer: WholeText;
}

function kept(answer: WholeText): KeptAnswer {
  const hash = createHash("sha256").update(answer.text).digest("base64url");
  return { etag: `"${hash.slice(0, 22)}"`, answer };
}
