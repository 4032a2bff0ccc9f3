// One update of the parameters, as training/trainer.py makes it: the gradient's norm is clipped, then Adam (Kingma & Ba 2015).

export class Adam {
  /** parameters: a Map of them; memory: where the averages lie. */
  constructor(memory, parameters, { rate, clip = 5, first = 0.9, second = 0.999, epsilon = 1e-8 }) {
    Object.assign(this, { rate, clip, first, second, epsilon, updates: 0 });
    this.slots = [...parameters.values()].map((parameter) => {
      const [mean, square] = [0, 1].map(() => memory.floats(parameter.value.length));
      return { parameter, mean, square };
    });
  }

  /** Moves the parameters and sets their gradients to 0. */
  update() {
    this.updates++;
    const norm = Math.sqrt(this.slots.reduce((sum, { parameter }) => sum + squared(parameter.grad), 0));
    const shrunk = norm > this.clip ? this.clip / norm : 1;
    const { first, second, epsilon } = this;
    const step = this.rate / (1 - first ** this.updates);
    const scale = 1 / Math.sqrt(1 - second ** this.updates);
    for (const { parameter, mean, square } of this.slots) {
      const { value, grad } = parameter;
      for (let at = 0; at < value.length; at++) {
        const each = grad[at] * shrunk;
        mean[at] += (1 - first) * (each - mean[at]);
        square[at] += (1 - second) * (each * each - square[at]);
        value[at] -= (step * mean[at]) / (Math.sqrt(square[at]) * scale + epsilon);
      }
      grad.fill(0);
      parameter.stale = true;
    }
    return norm;
  }
}

function squared(values) {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += values[at] * values[at];
  return sum;
}
