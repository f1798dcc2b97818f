/**
 * `npm start`: the whole system on one machine. The local venues run in a process of their own, so that their work
 * never delays a frame or a decision; it ends with this one.
 */
import { fork } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { DEMO_CREDENTIALS, mintDemoWallet } from "../../bench/sim/demo-accounts.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { DESCRIPTORS } from "../../feeds/registry.js";
import { urlSettings } from "../../feeds/shared/room/venue-descriptor.js";
import { NATIVE_VENUE, WALLET_VENUE } from "../../schemas/venues.js";
import { MemoryCredentials } from "../accounts/memory-credentials.js";
import { takeEnvironment } from "../app/process-environment.js";
import { loadConfigOrExit, runService } from "../app/run.js";
import { GIFTS, GiftWallets } from "./gift-wallets.js";
import { type ChainUrls, MONEY_DEFAULTS, moneySettings } from "./local-money.js";
import { type LocalVenuefive, venuefiveSettings } from "./local-venuefive.js";
import { makeThrowawayCustody } from "./throwaway-custody.js";

/**
 * Enough for a machine that is still busy with its first build, and longer than a local chain may take to start (a minute,
 * bench/sim/chain/local-chain.ts): where that takes longer, the demo runs without.
 */
const VENUES_START_MS = 180_000;
const CURL_SIZE = "0.05";
/** Of the local chains: a person sees a deposit on its way, and does not wait for it. */
const SIM_BLOCK_SECONDS = "1";

/**
 * The local venues of the demo grant any rate: a person who tries the service should not meet the budget of one address
 * at a real venue (sixty reads a minute at one of them).
 */
const ROOMY_BUDGETS = {
  ...ofVenues((prefix) => ({ [`${prefix}_REST_WEIGHT_PER_MINUTE`]: "1000000" })),
  // Each look at a wallet's money reads its spot account.
  [`${NATIVE_VENUE.toUpperCase()}_SPOT_WEIGHT_PER_MINUTE`]: "1000000",
};

/** Of the first local venues: what one may try with any of them. */
const HINTS = ["  (its own order log: /_sim/orders)", '  (move its price: POST /_sim/skew {"bps":-60})'];

interface VenueUrls {
  readonly restUrl: string;
  readonly wsUrl: string;
}

type LocalVenueUrls = Readonly<Record<RoutableVenue, VenueUrls>> & {
  readonly chains: ChainUrls;
  /** Why there are none; null where they run. */
  readonly chainProblem: string | null;
  readonly venuefive: LocalVenuefive | null;
  readonly venuefiveProblem: string | null;
};

/** Environment variables for all venues. */
function ofVenues(
  settingsOf: (prefix: string, venue: RoutableVenue) => Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.assign({}, ...ROUTABLE_VENUES.map((venue) => settingsOf(venue.toUpperCase(), venue))) as Record<
    string,
    string
  >;
}

// Wrong settings are refused before anything is started.
const environment = takeEnvironment(process.env);
loadConfigOrExit(environment);
const venuesChild = fork(
  join(dirname(fileURLToPath(import.meta.url)), "..", "..", "bench", "sim", "venues.child.js"),
  [],
  {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    // A process group of its own: a terminal's Ctrl-C is for this process, which stops the service first. The child
    // ends when its channel does.
    detached: true,
    env: { ...process.env, SIM_UNLIMITED: "1", SIM_CHAINS: "1", SIM_VENUEFIVE: "1", SIM_BLOCK_SECONDS },
  },
);
let isReady = false;
const urls = await venueUrls();
const config = loadConfigOrExit({
  ...ROOMY_BUDGETS,
  ...MONEY_DEFAULTS,
  ...environment,
  ...ofVenues((_, venue) => urlSettings(DESCRIPTORS[venue], urls[venue])),
  ...moneySettings(urls.chains),
  ...venuefiveSettings(urls.venuefive),
});
const demoWallet = mintDemoWallet();
const wallets = new MemoryCredentials([{ ownerId: null, ...demoWallet, credentials: DEMO_CREDENTIALS }]);
const pageAccount = { walletAddress: demoWallet.address, credentials: DEMO_CREDENTIALS };
const throwawayCustody = await makeThrowawayCustody();
const hasChains = urls.chainProblem === null;
const around = (made: WalletProvider) => {
  const say = (text: string) => void process.stderr.write(`unwind: ${text}\n`);
  const parts = { venueUrl: urls[NATIVE_VENUE].restUrl, gifts: GIFTS, clock: createSystemClock(), say };
  return hasChains ? new GiftWallets(made, parts) : made;
};
const overrides = { wallets, pageAccount, throwawayCustody: { ...throwawayCustody, around } };
const service = await runService(config, overrides, async () => {
  await throwawayCustody.remove();
  venuesChild.disconnect();
});
isReady = true;
process.stdout.write(guide(service.url, urls));

function venueUrls(): Promise<LocalVenueUrls> {
  return new Promise((resolve) => {
    const fail = (problem: string) => {
      process.stderr.write(`unwind ${isReady ? "ends" : "cannot start"}: the local venues ${problem}\n`);
      process.exit(2);
    };
    const timer = setTimeout(() => fail(`said nothing for ${VENUES_START_MS} ms`), VENUES_START_MS);
    let text = "";
    venuesChild.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes("\n")) return;
      clearTimeout(timer);
      resolve(JSON.parse(text) as LocalVenueUrls);
      text = "";
    });
    venuesChild.on("exit", (code) => {
      clearTimeout(timer);
      fail(`ended (code ${code ?? "none"})`);
    });
  });
}

/** The credentials below open only the local venues. */
function guide(url: string, venues: LocalVenueUrls): string {
  const body = JSON.stringify({
    symbol: "BTC",
    direction: "LONG",
    size: CURL_SIZE,
    credentials: DEMO_CREDENTIALS,
  });
  const rows: [name: string, address: string][] = [
    ["dashboard", `${url}/`],
    ["best exit, public", `${url}/api/trade/routing/BTC?side=SELL&size=0.25`],
    ["positions, all venues", `${url}/api/trading/positions/all/${demoWallet.address}`],
    [
      "demo wallet",
      `${demoWallet.walletId}  (x-wallet-id of /api/${WALLET_VENUE}, /api/${NATIVE_VENUE} and single-venue orders)`,
    ],
    [
      "server wallets",
      `${url}/api/wallets  (POST {"userId":"ada"} makes one, POST {"message":"hello"} to …/ada/sign signs with it; its key exists nowhere)`,
    ],
    ["their money", moneyText(url, venues)],
    ["tickers", `${url}/api/trading/ticker/BTC`],
    ["all books in one", `${url}/api/book/BTC?depth=10`],
    ["instruments", `${url}/api/instruments`],
    ["feeds and orders", `${url}/api/status`],
    ["stream", `${url.replace("http", "ws")}/ws`],
    ["recorded decisions", `${url}/api/history/routing?symbol=BTC`],
    ["API description", `${url}/docs  (/openapi.json, /asyncapi.json)`],
    ["metrics", `${url}/metrics`],
    ...Object.entries(venues.chains).map(([id, rpcUrl]): [string, string] => [`local chain ${id}`, rpcUrl]),
    ...ROUTABLE_VENUES.map((venue, index): [string, string] => [
      `local ${venue}`,
      `${venues[venue].restUrl}${HINTS[index] ?? ""}`,
    ]),
    ["local venuefive", venuefiveText(venues)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "",
    ...rows.map(([name, address]) => `  ${name.padEnd(width)}  ${address}`),
    "",
    `The demo trader is long BTC and short ETH on every venue. This closes ${CURL_SIZE} BTC at the best exit:`,
    "",
    `curl -s ${url}/api/trade/position/close -H 'Content-Type: application/json' -d '${body}'`,
    "",
    "",
  ].join("\n");
}

function venuefiveText({ venuefive, venuefiveProblem }: LocalVenueUrls): string {
  if (venuefive === null) return `not here: ${venuefiveProblem ?? "it does not run"}`;
  return `${venuefive.rpcUrl}  (a chain; the demo trader's position and order there are signed by its wallet, and read by address)`;
}

function moneyText(url: string, { chainProblem }: LocalVenueUrls): string {
  if (chainProblem !== null) return `no local chains here, so no deposits: ${chainProblem}`;
  return `${url}/api/wallets/ada/balances  (each new wallet has tokens and gas on the local chains; npm run circle -- ${url} takes them round)`;
}
