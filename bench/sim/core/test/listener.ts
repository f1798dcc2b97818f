/**
 * One WebSocket client of a local venue, for the rooms' tests. It keeps frames as text and parsed, and waits for them
 * without sleeps.
 */
import { WebSocket } from "ws";

export type Frame = Readonly<Record<string, unknown>>;

export interface Listener {
  readonly socket: WebSocket;
  /** Texts and parsed frames in order of arrival; a text that is not JSON has the frame `{ unparsable: text }`. */
  readonly texts: string[];
  readonly frames: Frame[];
  /** Resolves with the first frame that matches, of those already here too; rejects when the socket closes first. */
  waitFor(match: (frame: Frame) => boolean): Promise<Frame>;
  /** Resolves once `count` frames match. */
  waitForCount(count: number, match: (frame: Frame) => boolean): Promise<Frame[]>;
  /** Close code; 1006 for a cut. */
  readonly closed: Promise<number>;
  send(message: unknown): void;
  /** A ping answered by the venue proves that everything it sent before has arrived. */
  drained(): Promise<void>;
}

export async function listenTo(url: string): Promise<Listener> {
  const socket = new WebSocket(url);
  const texts: string[] = [];
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  socket.on("message", (data: Buffer) => {
    const text = data.toString("utf8");
    texts.push(text);
    frames.push(parse(text));
    for (const check of [...waiting]) check();
  });
  const closed = new Promise<number>((resolve) => socket.on("close", (code) => resolve(code)));
  // A refused upgrade rejects below; later errors show as the close.
  socket.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.once("unexpected-response", (_request, response) =>
      reject(new Error(`refused with ${response.statusCode}`)),
    );
    socket.once("error", reject);
  });
  const waitForCount = (count: number, match: (frame: Frame) => boolean): Promise<Frame[]> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = frames.filter(match);
        if (found.length < count) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      void closed.then((code) => reject(new Error(`closed with ${code}`)));
      check();
    });
  return {
    socket,
    texts,
    frames,
    closed,
    waitForCount,
    waitFor: async (match) => (await waitForCount(1, match))[0] as Frame,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    async drained() {
      const answered = new Promise<void>((resolve) => socket.once("pong", () => resolve()));
      socket.ping();
      await Promise.race([answered, closed]);
    },
  };
}

function parse(text: string): Frame {
  try {
    return JSON.parse(text) as Frame;
  } catch {
    // Half frames are not JSON; the test looks at the text.
    return { unparsable: text };
  }
}
