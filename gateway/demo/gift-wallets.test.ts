/** Money of the demo's wallets: once each, and a wallet is a wallet also where there is none to be had. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { TestWallets } from "../test/test-wallets.js";
import { type Gift, GiftWallets } from "./gift-wallets.js";

const GIFTS: readonly Gift[] = [
  { chainId: 56, token: "USDT", amount: "10", coins: "1" },
  { chainId: 42161, token: "USDC", amount: "20" },
];

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** A venue's control API, as the bodies that it got; `status`: of its next answer. */
async function venue(status: () => number | null) {
  const bodies: object[] = [];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      bodies.push({ path: request.url, ...(JSON.parse(text) as object) });
      const code = status();
      if (code !== null) response.writeHead(code).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { bodies, venueUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function gifted(venueUrl: string) {
  const said: string[] = [];
  const clock = new VirtualClock();
  const wallets = new GiftWallets(new TestWallets(), { venueUrl, gifts: GIFTS, clock, say: (text) => said.push(text) });
  return { wallets, said, clock };
}

describe("a wallet of the demo", () => {
  it("has its money when it is answered, and gets it once", async () => {
    const { bodies, venueUrl } = await venue(() => 200);
    const { wallets, said } = gifted(venueUrl);
    const { address } = await wallets.create("ada", null, "local");
    const asked = GIFTS.map((gift) => ({ path: "/_sim/mint", to: address, ...gift }));
    expect(bodies).toEqual(asked);
    expect(wallets.find("ada", null)?.address).toBe(address);
    await wallets.create("bob", null, "local");
    expect(bodies).toHaveLength(4);
    expect(said).toEqual([]);
  });

  it("is answered also where no money comes, says so, and asks again when it is seen next", async () => {
    let status = 500;
    const { bodies, venueUrl } = await venue(() => status);
    const { wallets, said } = gifted(venueUrl);
    const { address } = await wallets.create("ada", null, "local");
    expect(said).toEqual([`the wallet ${address} got no money: the local venue answers 500: {}`]);
    status = 200;
    wallets.find("ada", null);
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(3);
  });

  it("gets each of its gifts once, also where one of them was refused", async () => {
    const statuses = [200, 500];
    const { bodies, venueUrl } = await venue(() => statuses.shift() ?? 200);
    const { wallets } = gifted(venueUrl);
    await wallets.create("ada", null, "local");
    wallets.find("ada", null);
    await wallets.create("bob", null, "local");
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(5);
    const chainsOf = (address: string | undefined) =>
      (bodies as { to: string; chainId: number }[]).flatMap(({ to, chainId }) => (to === address ? [chainId] : []));
    const [ada, bob] = ["ada", "bob"].map((userId) => wallets.find(userId, null)?.address);
    expect([chainsOf(ada), chainsOf(bob)]).toEqual([
      [56, 42161, 42161],
      [56, 42161],
    ]);
  });

  it("is answered after five seconds where its venue does not answer", async () => {
    const { bodies, venueUrl } = await venue(() => null);
    const { wallets, clock } = gifted(venueUrl);
    const made = wallets.create("ada", null, "local");
    await expect.poll(() => bodies.length, { timeout: 60_000 }).toBe(1);
    clock.advance(5_000);
    expect((await made).userId).toBe("ada");
  });
});
