"""Writes models with recorded inputs and outputs in the format of src/archive.ts."""
import gzip
import io
import json
import struct

import torch

TYPES = {
    torch.float16: 'F16', torch.float32: 'F32', torch.float64: 'F64', torch.int64: 'I64', torch.bool: 'BOOL',
}


def tensors_of(value):
    """The tensors of a nested result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in tensors_of(part)]


def safetensors(tensors):
    header, blob = {}, b''
    for name, tensor in tensors.items():
        data = tensor.detach().contiguous().numpy().tobytes()
        offsets = [len(blob), len(blob) + len(data)]
        header[name] = {'dtype': TYPES[tensor.dtype], 'shape': list(tensor.shape), 'data_offsets': offsets}
        blob += data
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    return len(text).to_bytes(8, 'little') + text + blob


def export(name, model, inputs, opset, axes, tensors):
    """The bytes of the exported file; adds what the model is given and gives to `tensors`."""
    model.eval()
    with torch.no_grad():
        results = tensors_of(model(*inputs))
    given = [f'in{i}' for i in range(len(inputs))]
    made = [f'out{i}' for i in range(len(results))]
    file = io.BytesIO()
    torch.onnx.export(model, inputs, file, opset_version=opset, input_names=given, output_names=made,
                      dynamic_axes=axes or {key: {0: 'batch'} for key in given})
    tensors.update({f'{name}/in/{key}': value for key, value in zip(given, inputs)})
    keys = [f'{name}/out/{key}' for key in made] if len(made) > 1 else [f'{name}/out']
    tensors.update(dict(zip(keys, results)))
    return file.getvalue()


def pack(path, files):
    packed = b''.join(struct.pack('<HI', len(name.encode()), len(data)) + name.encode() + data
                      for name, data in files.items())
    with open(path, 'wb') as file:
        file.write(gzip.compress(packed, 9, mtime=0))
