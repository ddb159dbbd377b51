#!/usr/bin/env python3
"""Makes stream.lz4frame of stream.plain by the reference library: pip install lz4. Blocks of a thousand bytes refer to
each other, and blocks and frame have checksums."""

from pathlib import Path

import lz4.frame

here = Path(__file__).resolve().parent
plain = (here / "stream.plain").read_bytes()
packer = lz4.frame.LZ4FrameCompressor(
    block_size=lz4.frame.BLOCKSIZE_MAX64KB,
    block_linked=True,
    block_checksum=True,
    content_checksum=True,
    auto_flush=True,
)
parts = [plain[at : at + 1000] for at in range(0, len(plain), 1000)]
packed = packer.begin() + b"".join(map(packer.compress, parts)) + packer.flush()
(here / "stream.lz4frame").write_bytes(packed)
