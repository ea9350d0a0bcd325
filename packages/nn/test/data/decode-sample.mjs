// A decoder as a user writes one; runs on a worker thread of the DataLoader test.
export default function decode({ text, label }) {
  if (text === 'bad') throw new Error('cannot decode this sample');
  return { x: Float32Array.from(text.split(','), Number), label };
}
