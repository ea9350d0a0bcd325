'use client';

/** @file A client component that trains when it is shown; it is rendered on the server as well. */
import { useEffect, useState } from 'react';
import { train } from '../../train.js';

async function trainHere() {
  const response = await fetch('/digits.safetensors');
  return { page: await train(new Uint8Array(await response.arrayBuffer())) };
}

export function Trainer() {
  const [result, setResult] = useState(null);
  useEffect(() => {
    trainHere().then(
      (losses) => setResult({ losses }),
      (error) => setResult({ error: String(error?.stack ?? error) }),
    );
  }, []);
  useEffect(() => {
    if (result !== null) globalThis.consumerResult = result;
  }, [result]);
  return <p>{result === null ? 'Training …' : JSON.stringify(result)}</p>;
}
