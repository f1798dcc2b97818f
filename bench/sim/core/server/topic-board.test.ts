import { describe, expect, it } from "vitest";
import { TopicBoard } from "./topic-board.js";
import type { SimSocket } from "./server-types.js";

/** A socket that records what is pushed to it. */
function createSocket(id: number): SimSocket & { readonly pushed: string[] } {
  const pushed: string[] = [];
  return {
    id,
    path: "/",
    query: "",
    remoteAddress: "",
    openedMs: 0,
    state: null,
    pushed,
    push: (scope, stream, text, sequenced) => void pushed.push(`${scope} ${stream} ${text} ${sequenced}`),
    reply: () => undefined,
    ping: () => undefined,
    close: () => undefined,
    terminate: () => undefined,
  };
}

describe("topic board", () => {
  it("pushes to the listeners of a topic and forgets a topic with its last one", () => {
    const board = new TopicBoard();
    const [first, second] = [createSocket(1), createSocket(2)];
    board.add(first, "a");
    board.add(second, "a");
    board.add(second, "b");
    board.publish("a", "stream", "text", true);
    expect([first.pushed, second.pushed]).toEqual([["market stream text true"], ["market stream text true"]]);
    expect([...board.topics]).toEqual(["a", "b"]);
    expect(board.remove(first, "a")).toBe(true);
    expect(board.remove(first, "a")).toBe(false);
    board.drop(second);
    expect([board.isWanted("a"), board.isWanted("b"), board.has(second, "a")]).toEqual([false, false, false]);
    board.publish("a", "stream", "text", true);
    expect(first.pushed).toHaveLength(1);
  });

  it("survives a listener that leaves while a frame is pushed", () => {
    const board = new TopicBoard();
    const leaving = createSocket(1);
    const staying = createSocket(2);
    const push = leaving.push;
    leaving.push = (...frame) => {
      push(...frame);
      board.drop(leaving);
    };
    board.add(leaving, "a");
    board.add(staying, "a");
    board.publish("a", "s", "t", false);
    board.publish("a", "s", "t", false);
    expect([leaving.pushed.length, staying.pushed.length]).toEqual([1, 2]);
  });
});
