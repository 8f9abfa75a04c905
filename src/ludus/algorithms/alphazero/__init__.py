"""AlphaZero and AlphaGo Zero: learning from the matches of a search.

Silver et al. 2017, 2018; Tian et al. 2019 (ELF OpenGo).
"""
