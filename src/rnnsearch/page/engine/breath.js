// A breath between two slices of work. Shared by the threads that translate and that train.

const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

/** Lets messages in. A timer would wait for four milliseconds. */
export function breath() {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(0);
  });
}
