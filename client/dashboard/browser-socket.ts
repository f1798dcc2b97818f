/** The browser's WebSocket in the form the stream client takes. */
import type { SocketEvents, StreamSocket } from "../stream/stream-client.js";

export function openBrowserSocket(url: string, events: SocketEvents): StreamSocket {
  const socket = new WebSocket(url);
  socket.addEventListener("open", () => events.opened());
  socket.addEventListener("message", (event: MessageEvent<unknown>) => events.said(event.data));
  socket.addEventListener("close", (event) => events.closed(event.code));
  return {
    send: (text) => socket.send(text),
    close: (code, reason) => socket.close(code, reason),
  };
}
