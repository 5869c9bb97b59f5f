import { DaemonWorld } from "../daemon.fixture.ts";
import { IDLE } from "../http/server.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import { openApiDocument } from "./document.ts";

/** All routes of a server, and what is said of them. */
export async function reference() {
  const { daemon } = await DaemonWorld.open({ routes: () => [] });
  const { routes } = allRoutes(daemon, "1.2.3", async () => IDLE);
  return { routes, document: openApiDocument(routes, "1.2.3") };
}
