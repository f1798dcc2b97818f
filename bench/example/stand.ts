/**
 * The example page of trading at venuefive with all that it needs: the local chain, whose keeper makes its rounds, a
 * throwaway account with money, and a server of the page, bundled from its sources. All on the loopback address.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { rolldown } from "rolldown";
import type { Address } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import type { ExampleFacts } from "../../client/example/facts.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { startVenuefiveDemo } from "../sim/venuefive/demo.js";
import { SPEC_PAIRS } from "../sim/venuefive/pairs.js";
import type { VenuefiveWorld } from "../sim/venuefive/world.js";

export interface ExampleStand {
  readonly url: string;
  readonly world: VenuefiveWorld;
  /** Of the page's wallet. */
  readonly trader: Address;
  stop(): Promise<void>;
}

export interface ExampleOptions {
  /** Of the repository, which has the page's sources. */
  readonly root: string;
  /** Default 0: a free one. */
  readonly port?: number;
}

const MONEY = { usdc: "10000", coins: "10" };
const HOST = "127.0.0.1";

/** Prices do not move, so the page's own price is one at which the keeper executes. */
const STEADY_PRICES = {
  fairPrice: (base: string) => Number(SPEC_PAIRS.find(({ symbol }) => symbol === base)?.price),
};

export async function startExample({ root, port = 0 }: ExampleOptions): Promise<ExampleStand> {
  const script = await bundle(join(root, "client", "example", "main.tsx"));
  const { world, stop } = await startVenuefiveDemo({ clock: createSystemClock(), priceSource: STEADY_PRICES });
  try {
    const devKey = generatePrivateKey();
    const trader = privateKeyToAddress(devKey);
    await world.fund(trader, MONEY);
    const { Trading, TradingStorage, PairStorage, Multicall, Usdc } = world.addresses;
    const facts: ExampleFacts = {
      ...{ rpcUrl: world.rpcUrl, chainId: world.chainId, devKey },
      addresses: { Trading, TradingStorage, PairStorage, Multicall, USDC: Usdc },
      pairs: SPEC_PAIRS.map(({ symbol, price }) => ({ symbol, price })),
    };
    const server = await serve(pageFiles(root, script, facts), world.rpcUrl, port);
    return {
      ...{ url: `http://${HOST}:${(server.address() as AddressInfo).port}/`, world, trader },
      stop: async () => {
        await closed(server);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bundle(input: string): Promise<string> {
  const made = await rolldown({
    input,
    platform: "browser",
    resolve: { extensionAlias: { ".js": [".ts", ".tsx", ".js"] } },
    // React says in the console what a page does wrong.
    transform: { define: { "process.env.NODE_ENV": '"development"' } },
    logLevel: "silent",
  });
  const { output } = await made.generate({ format: "esm", codeSplitting: false });
  await made.close();
  return output[0].code;
}

type PageFiles = ReadonlyMap<string, { readonly type: string; readonly body: string }>;

function pageFiles(root: string, script: string, facts: ExampleFacts): PageFiles {
  const source = (folder: string, name: string) => readFileSync(join(root, "client", folder, name), "utf8");
  return new Map([
    ["/", { type: "text/html; charset=utf-8", body: source("example", "index.html") }],
    ["/example.css", { type: "text/css", body: source("example", "example.css") }],
    ["/theme.css", { type: "text/css", body: source("dashboard", "theme.css") }],
    ["/favicon.svg", { type: "image/svg+xml", body: source("dashboard", "favicon.svg") }],
    ["/main.js", { type: "text/javascript", body: script }],
    ["/example.json", { type: "application/json", body: JSON.stringify(facts) }],
  ]);
}

function serve(files: PageFiles, rpcUrl: string, port: number): Promise<Server> {
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${rpcUrl}`;
  const server = createServer(({ url = "" }, response) => {
    const file = files.get(new URL(url, "http://page").pathname);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": file.type, "content-security-policy": policy }).end(file.body);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, () => resolve(server));
  });
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
