/**
 * Each README lists what its local venue serves, no more and no less. A row of the section "Routes" names places in its
 * first cell and calls in its second, all in backticks: each call is served at each of the places.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONTROL_ROUTES } from "./core/server/control.js";
import { servedRoutes as venuefourRoutes } from "./venuefour/router.js";
import { startVenuefourSim } from "./venuefour/sim.js";
import { SOCKET_CALLS } from "./venuefour/orders/socket-trading.js";
import { MARKET_CHANNELS } from "./venuefour/market/subscriptions.js";
import { ACCOUNT_CHANNELS } from "./venuefour/account/account-streams.js";
import { ACTION_TYPES } from "./venueone/wire/actions.js";
import { INFO_TYPES } from "./venueone/info.js";
import { startVenueoneSim } from "./venueone/sim.js";
import { STREAM_TYPES } from "./venueone/market/subscriptions.js";
import { CHANNELS } from "./venuethree/market/channels.js";
import { SERVED_ROUTES } from "./venuethree/router.js";
import { startVenuethreeSim } from "./venuethree/sim.js";
import { TRANSACTION_TYPES } from "./venuethree/wire/transaction.js";
import { MONEY_PAGES } from "./venuetwo/account/money-pages.js";
import { WEB_ROUTES } from "./venuetwo/account/web-routes.js";
import { STREAM_NAMES } from "./venuetwo/market/market-streams.js";
import { servedRoutes as venuetwoRoutes } from "./venuetwo/router.js";
import { startVenuetwoSim } from "./venuetwo/sim.js";

/** Enough to start: nobody trades. */
const OPTIONS = { seed: 1, flow: null } as const;

const at = (place: string, names: readonly string[]): string[] => names.map((name) => `${place} ${name}`);

/** What a room adds to the control API. */
async function controlsOf(
  start: () => Promise<{ readonly room: { readonly commands: object }; stop(): Promise<void> }>,
) {
  const sim = await start();
  await sim.stop();
  return at("/_sim POST", Object.keys(sim.room.commands));
}

const SERVED: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  core: async () => at("/_sim", CONTROL_ROUTES),
  venueone: async () => [
    ...at("POST /info", INFO_TYPES),
    ...at("POST /exchange", ACTION_TYPES),
    ...at("/ws", STREAM_TYPES),
    ...(await controlsOf(() => startVenueoneSim(OPTIONS))),
  ],
  venuetwo: async () => [
    ...venuetwoRoutes().map((route) => `/${route}`),
    ...WEB_ROUTES,
    ...MONEY_PAGES,
    ...at("/ws", STREAM_NAMES),
    ...(await controlsOf(() => startVenuetwoSim(OPTIONS))),
  ],
  venuethree: async () => [
    ...SERVED_ROUTES,
    ...at("sendTx", TRANSACTION_TYPES),
    ...at("/stream", CHANNELS),
    ...(await controlsOf(() => startVenuethreeSim(OPTIONS))),
  ],
  venuefour: async () => [
    ...at("/api/v1", venuefourRoutes({ print: () => ({}) })),
    ...at("/ws source", [...MARKET_CHANNELS, ...ACCOUNT_CHANNELS]),
    ...at("/ws params", SOCKET_CALLS),
    ...(await controlsOf(() => startVenuefourSim(OPTIONS))),
  ],
};

function listedIn(folder: string): string[] {
  const text = readFileSync(new URL(`${folder}/README.md`, import.meta.url), "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith("Routes\n")) ?? "";
  return section.split("\n").flatMap((line) => {
    const [places = [], names = []] = line.split("|").slice(1, 3).map(inBackticks);
    return places.flatMap((place) => at(place, names));
  });
}

function inBackticks(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
}

describe("the READMEs of the local venues", () => {
  it.each(Object.entries(SERVED))("list every route that %s serves, and none besides", async (folder, routes) => {
    const [served, listed] = [await routes(), listedIn(folder)];
    const missing = (from: readonly string[], of: readonly string[]) => of.filter((route) => !from.includes(route));
    expect({ servedOnly: missing(listed, served), listedOnly: missing(served, listed) }).toEqual({
      servedOnly: [],
      listedOnly: [],
    });
    expect(listed).toHaveLength(new Set(served).size);
  });
});
