"""Prints what CMU's Sphinx hears in a WAV file."""

import sys
import wave

from pocketsphinx import Decoder

with wave.open(sys.argv[1]) as sound:
    decoder = Decoder(samprate=sound.getframerate(), loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw(sound.readframes(sound.getnframes()), full_utt=True)
    decoder.end_utt()
heard = decoder.hyp()
print(heard.hypstr if heard else "")
