// A pause between two slices of work, in which the thread receives its messages. Shared by the
// threads that translate and that train.

const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

/** Resolves after waiting messages were received. A timer would wait for four milliseconds. */
export function breath() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(0);
  });
}
