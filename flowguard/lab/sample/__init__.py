"""The sample network of `policyhub up --demo`: a few configurations, identities, packets made here, one simulated switch.

Everything in it is invented. It tells the story of a training job that marks its packets EF, at 1/1000 of real rates.
"""
