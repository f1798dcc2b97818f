/** One contract for both providers of wallets: two parties over memory, and an outside signer over memory. */
import { vi } from "vitest";
import { OutsideWorld } from "../../outside/test/outside-world.js";
import { CustodyBench } from "./custody-bench.js";
import { describeWalletProvider, type ProviderStage } from "./wallet-provider.contract.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let seeds = 0;

function embeddedStage(bench: CustodyBench): ProviderStage {
  return {
    provider: bench.service,
    told: (call) => bench.told(call),
    drawAnew: () => {
      bench.seed = `host-${++seeds}`;
    },
    async restarted() {
      bench.kill(0);
      bench.seed = `host-${++seeds}`;
      await bench.start(0);
      await bench.meet();
      return embeddedStage(bench);
    },
  };
}

async function outsideStage(world: OutsideWorld): Promise<ProviderStage> {
  const life = await world.live();
  return {
    provider: life.provider,
    told: (call) => world.outcome(life, call),
    drawAnew: () => {},
    restarted: () => outsideStage(world),
  };
}

describeWalletProvider("two parties", async () => embeddedStage(await new CustodyBench().up()), "t:pay");
describeWalletProvider("an outside signer", () => outsideStage(new OutsideWorld()), "t:pay");
