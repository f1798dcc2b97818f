/** One connection: what is asked for and given up in one turn is written in an order that the venue understands. */
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../engine/domain/clock.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { Link } from "./link.js";
import { FakeNetwork } from "../test/fake-connector.js";

function setup<C extends Clock>(clock: C) {
  const network = new FakeNetwork();
  const link = new Link(
    1,
    {
      clock,
      connector: network.connector,
      heartbeat: { pingText: null, everyMs: 0, idleMs: 60_000 },
      protocol: {
        subscribe: (names) => `sub ${names.join(",")}`,
        unsubscribe: (names) => `unsub ${names.join(",")}`,
        maxNamesPerFrame: 1,
      },
      pacers: [],
      connectTimeoutMs: 5_000,
      maxFrameBytes: 1_024,
      maxQueuedSends: 8,
      maxBufferedBytes: 1_024,
    },
    { onOpen: () => {}, onFrame: () => {}, onRequested: () => {}, onCleared: () => {}, onClosed: () => {} },
  );
  link.open("ws://venue");
  return { clock, network, link };
}

describe("a stream that is unsubscribed and asked for again in one turn", () => {
  function askedAgain() {
    const bench = setup(new VirtualClock());
    bench.network.last.open();
    bench.link.writer.ask("a", false);
    bench.clock.advance(0);
    bench.link.writer.unsubscribe("a");
    bench.link.writer.ask("a", false);
    return bench;
  }

  it("is unsubscribed first: asked for twice, it would be refused and bring no first state", () => {
    const { clock, network, link } = askedAgain();
    clock.advance(0);
    expect(network.last.sent).toEqual(["sub a", "unsub a", "sub a"]);
    expect(link.writer.isRequested).toBe(true);
  });

  it("and unsubscribed once more is only unsubscribed", () => {
    const { clock, network, link } = askedAgain();
    link.writer.unsubscribe("a");
    clock.advance(0);
    expect(network.last.sent).toEqual(["sub a", "unsub a"]);
  });
});

describe("before the connection is open,", () => {
  it("nothing is unsubscribed: nothing was asked for", () => {
    const { clock, network, link } = setup(new VirtualClock());
    link.writer.unsubscribe("gone");
    link.writer.resubscribe("a");
    network.last.open();
    link.writer.flush();
    clock.advance(0);
    expect(network.last.sent).toEqual(["sub a"]);
  });
});

/** A clock whose time can pass without a timer firing, as it does while the event loop is held up. */
class StallingClock extends VirtualClock {
  #stalledMs = 0;

  stall(ms: number): void {
    this.#stalledMs += ms;
  }

  override monoNs(): number {
    return super.monoNs() + this.#stalledMs * 1e6;
  }
}

describe("names that are suspected of killing connections", () => {
  it("are not cleared as a group because the loop was held up: the next would be blamed for it", () => {
    const { clock, network, link } = setup(new StallingClock());
    network.last.open();
    link.writer.ask("culprit", true);
    link.writer.ask("innocent", true);
    link.writer.flush();
    clock.advance(490);
    // The venue's close lies unread while the timer is overdue.
    clock.stall(400);
    clock.advance(10);
    expect(network.last.sent).toEqual(["sub culprit"]);
    network.last.end(1006);
    expect(link.writer.suspects.suspectNames()).toEqual(["culprit"]);
  });

  it("come back after a second gap, whatever the loop did", () => {
    const { clock, network, link } = setup(new StallingClock());
    network.last.open();
    link.writer.ask("a", true);
    link.writer.ask("b", true);
    link.writer.flush();
    for (let gap = 0; gap < 2; gap++) {
      clock.stall(1_000);
      clock.advance(500);
    }
    expect(network.last.sent).toEqual(["sub a", "sub b"]);
  });
});
